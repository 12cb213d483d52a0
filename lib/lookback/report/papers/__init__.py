"""The papers' tables from any run, in the papers' shape."""
