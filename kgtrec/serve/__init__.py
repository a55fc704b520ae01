"""The annotation page: one process that serves a campaign's folder to its people, by the campaign's own rules.

``state`` keeps who is signed in, ``auth`` lets people in, ``service`` holds the campaign open, ``views`` makes what a
person is shown, ``judging`` answers those who judge, ``training`` those who begin, ``manager`` those who manage (with
figures, downloads and gold of its own), and ``app`` puts it together. ``run`` serves it. Needs ``kgtrec[serve]``.
"""
