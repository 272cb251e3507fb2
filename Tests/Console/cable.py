"""A TCP proxy between a browser and the server, whose connections a test can cut."""

import socket
import threading


class Cable:
    """Forwards TCP from its own port to the server, until it is cut."""

    def __init__(self, host, port):
        self._target = (host, port)
        self._is_whole = True
        self._drops_responses = False
        self._lock = threading.Lock()
        self._sockets = set()
        self.received = 0
        """The number of reads that have forwarded something to the browser."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self):
        """Closes all connections, and refuses new ones until `mend`."""
        with self._lock:
            self._is_whole = False
            for each in self._sockets:
                _end(each)

    def drop_responses(self):
        """Forwards requests and drops responses until `mend`."""
        self._drops_responses = True

    def mend(self):
        self._drops_responses = False
        self._is_whole = True

    def close(self):
        self.cut()
        self._listener.close()

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._connect, args=(near,), daemon=True).start()

    def _connect(self, near):
        with near:
            try:
                far = socket.create_connection(self._target)
            except OSError:
                return
            # Sockets are closed here only, when no thread uses them: the descriptor of a closed socket is reused.
            with far:
                with self._lock:
                    if not self._is_whole:
                        return
                    self._sockets |= {near, far}
                up = threading.Thread(target=self._forward, args=(near, far, False), daemon=True)
                up.start()
                self._forward(far, near, True)
                up.join()
                with self._lock:
                    self._sockets -= {near, far}

    def _forward(self, source, sink, is_answer):
        try:
            while data := source.recv(65536):
                if not (is_answer and self._drops_responses):
                    sink.sendall(data)
                    self.received += is_answer
        except OSError:
            pass
        _end(source)
        _end(sink)


def _end(each):
    try:
        each.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
