"""What the inspector's page and the annotation desk share: access control and parts of a page; and how a notebook is served."""
