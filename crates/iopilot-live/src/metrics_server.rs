//! [`MetricsServer`]: metrics in the text format of Prometheus, over HTTP.

use crate::LiveError;
use crate::exposition::CONTENT_TYPE;
use std::time::Duration;
use tiny_http::{Header, Request, Response, Server};

/// A server of metrics, at `/metrics`.
pub(crate) struct MetricsServer {
    server: Server,
}

impl MetricsServer {
    /// Listens at `address`, such as `127.0.0.1:9419`.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub(crate) fn listen(address: &str) -> Result<Self, LiveError> {
        let server = Server::http(address).map_err(|e| LiveError::Failed(format!("--metrics {address}: {e}")))?;
        Ok(Self { server })
    }

    /// Serves waiting clients, without waiting. Call it regularly.
    pub(crate) fn serve(&self, text: &dyn Fn() -> String) {
        while let Ok(Some(request)) = self.server.try_recv() {
            reply(request, text);
        }
    }

    /// Waits for a client for `period` at most, and serves it.
    pub(crate) fn serve_next(&self, period: Duration, text: &dyn Fn() -> String) {
        if let Ok(Some(request)) = self.server.recv_timeout(period) {
            reply(request, text);
        }
    }
}

fn reply(request: Request, text: &dyn Fn() -> String) {
    let path = request.url().split('?').next().unwrap_or_default();
    // A client that has gone misses its answer.
    let _ = match path {
        "/metrics" => {
            let kind = Header::from_bytes(&b"Content-Type"[..], CONTENT_TYPE);
            request.respond(kind.into_iter().fold(Response::from_string(text()), Response::with_header))
        }
        _ => request.respond(Response::from_string("metrics are at /metrics\n").with_status_code(404)),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    #[test]
    fn they_are_served_at_metrics_and_nowhere_else() {
        let metrics = MetricsServer::listen("127.0.0.1:0").unwrap();
        let address = metrics.server.server_addr().to_ip().unwrap();
        let get = |path: &str| {
            let mut stream = TcpStream::connect(address).unwrap();
            write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
            let request = metrics.server.recv().unwrap();
            reply(request, &|| "up 1\n".to_owned());
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            text
        };
        let page = get("/metrics");
        assert!(page.contains("200 OK") && page.contains("version=0.0.4") && page.contains("up 1\n"), "{page}");
        assert!(get("/").contains("404"));
    }
}
