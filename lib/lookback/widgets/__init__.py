"""Interactive pages: the clip inspector and the annotation desk, as anywidgets with their own JavaScript; a list of figures."""
