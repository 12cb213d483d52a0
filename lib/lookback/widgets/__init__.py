"""What the inspector's page and the annotation desk share: access control, parts of a server, frames and videos for browsers."""
