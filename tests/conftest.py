"""What holds for every test."""

import signal
import threading

# Here, so that one browser serves all folders: a second one beside it cannot be driven.
from tests.browser.lab_fixtures import chromium, lab, lab_server

__all__ = ["chromium", "lab", "lab_server"]

try:
    from hypothesis import settings
except ImportError:  # tests that need it say so themselves
    pass
else:
    # A busy machine is no failure; a hanging test is pytest-timeout's to end.
    settings.register_profile("ampcourse", deadline=None)
    settings.load_profile("ampcourse")

# A job in the background is started with Ctrl-C ignored, and would hand that on to every process
# that a test starts, in order to interrupt it.
MAIN = threading.current_thread() is threading.main_thread()
if MAIN and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
