"""Flipbook: does a video that leaves its first picture come back to it?"""
