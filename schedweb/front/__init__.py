"""The web front: one process that serves http and https, requests and streams.

Streams (watches, live pages) are served on the event loop; everything else is Django under WSGI
in threads, which costs a third of what Django's own ASGI handler costs (docs/adr).
The supervisor starts it as a program, and imports `listening`; settings import `threads`.
"""
