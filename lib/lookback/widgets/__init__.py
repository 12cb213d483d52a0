"""What the inspector's page and the annotation desk share: frames for the browser, serving a notebook, and access control."""
