"""The server's connection sends without delay, and is otherwise Jupyter's own."""

from unittest.mock import Mock, patch

import pytest

pytest.importorskip("jupyter_server")

from jupyter_server.serverapp import ServerApp
from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection

from ampcourse.widgets.prompt_socket import PromptConnection


def test_connecting_turns_the_delay_off_and_then_connects() -> None:
    connection = PromptConnection.__new__(PromptConnection)
    handler = connection._trait_values["websocket_handler"] = Mock()
    with patch.object(ZMQChannelsWebsocketConnection, "connect", return_value="connected"):
        assert connection.connect() == "connected"
    handler.set_nodelay.assert_called_once_with(True)


def test_the_server_takes_it_by_name() -> None:
    name = "ampcourse.widgets.prompt_socket.PromptConnection"
    server = ServerApp(kernel_websocket_connection_class=name)
    assert server.kernel_websocket_connection_class is PromptConnection
