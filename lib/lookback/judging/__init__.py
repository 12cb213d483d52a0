"""Judges: who answers the questions that need eyes.

A task turns a clip into `Question`s (`tasks/`), a judge answers them with a `Reply` (`judges/`), the asker keeps every reply
(`asking`, `recording`), and `interpret` reads a reply as `Answer`s: a value or a typed reason, never a silent No.
"""
