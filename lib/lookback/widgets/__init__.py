"""What the inspector's page and the annotation desk share: access control, the server's parts, frames, videos that browsers play."""
