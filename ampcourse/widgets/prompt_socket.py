"""A Jupyter server connection that sends each kernel message at once.

By default the kernel's answers wait about 40 ms in the server: the "busy" message has gone out
unacknowledged, so Nagle's algorithm holds the next small one until the browser's delayed
acknowledgement (RFC 896; RFC 1122, 4.2.3.2). A widget that follows the hand feels that.
Jupyter's configuration takes the class by name: ServerApp.kernel_websocket_connection_class.
"""

from __future__ import annotations

from typing import Any

from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection


class PromptConnection(ZMQChannelsWebsocketConnection):
    """Jupyter Server's own connection with TCP_NODELAY set on the browser's side."""

    def connect(self) -> Any:
        """Connect browser and kernel as the parent does."""
        self.websocket_handler.set_nodelay(True)
        return super().connect()
