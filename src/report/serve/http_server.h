// An HTTP/1.1 server on one thread, for responses that are in memory. The protocol is libmicrohttpd's, driven by
// epoll. The library is loaded with the first server, so that no other command pays for it.
//
// Slow clients delay nobody: sockets never block, and a connection that has not finished a request for
// HttpLimits::request_time is closed. When all connections are taken, the one that has gone longest without
// finishing a request makes room for a new one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/files.h"
#include "l2gcn/context.h"
#include "report/serve/http_message.h"

namespace l2gcn {

struct HttpLimits {
  uint32_t connections = 4096;            // fewer where the process may open fewer files
  size_t connection_bytes = 16 << 10;     // request line, header fields and the response's header fields
  size_t body_bytes = 0;                  // of a request
  std::chrono::seconds request_time{20};  // from connecting, or the last response, to the end of the next one
  std::chrono::milliseconds stop_time{1000};  // for the responses being sent when the server stops
};

class HttpServer {
 public:
  // Called on the thread of Run, and holds up all clients while it works. What it throws becomes status 500.
  using Handler = std::function<HttpResponse(const HttpRequest& request)>;

  // Listens; port 0 is any free one. `names` are hosts to answer to besides addresses (RefusedRequest).
  // Throws Error(kUsage) that names the address, the port and the reason, or says that libmicrohttpd is
  // missing.
  HttpServer(const std::string& address, uint16_t port, const std::vector<std::string>& names = {},
             const HttpLimits& limits = {});

  uint16_t port() const { return port_; }
  std::string url() const;
  // Answers until `stop` returns true or the context is cancelled, which throws; both are asked a few times a
  // second. To be called once.
  void Run(const Context& context, const Handler& handler, const std::function<bool()>& stop = nullptr);

 private:
  std::string address_;
  std::vector<std::string> names_;
  HttpLimits limits_;
  Descriptor listener_;
  uint16_t port_ = 0;
};

}  // namespace l2gcn
