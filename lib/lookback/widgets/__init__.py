"""Interactive pages: the clip inspector and the annotation desk, as anywidgets with their own small JavaScript."""
