"""The report: paper tables and figures in one self-contained HTML file, with CSV and LaTeX beside it."""
