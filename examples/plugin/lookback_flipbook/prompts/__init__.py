"""The question in words, for judges that read."""
