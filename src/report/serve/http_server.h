// A small HTTP/1.1 server for pages that fit in memory: one thread, poll(), GET and HEAD alone.
//
// No client can hold up another: reading and writing never block, a request has 16 KiB and 10 seconds, an
// answer makes progress or its connection is closed, and when connections run out the one that is idle
// longest goes. A request is refused (403) unless its Host is this server's own address, so that no name of
// another site that resolves to this machine reaches it, and unless its Origin, if it has one, is this server
// too.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "l2gcn/context.h"

namespace l2gcn {

struct HttpRequest {
  std::string method, path;                    // the path without its query
  std::map<std::string, std::string> headers;  // names in lower case
};

struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

// Parses the head of a request (up to, without, the empty line). Returns false where it is not HTTP/1.x.
bool ParseHttpHead(std::string_view head, HttpRequest& request);
// Whether Host and Origin are those of a server at `hosts` ("127.0.0.1:8080", "localhost:8080", …).
bool IsOwnRequest(const HttpRequest& request, const std::vector<std::string>& hosts);

class HttpServer {
 public:
  using Handler = std::function<HttpAnswer(const HttpRequest& request)>;

  // Listens. Throws Error(kUsage) naming the address, the port and the reason.
  HttpServer(const std::string& address, uint16_t port);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const { return port_; }
  std::string url() const;
  // Answers until the context is cancelled (which throws) or `stop` returns true, asked a few times a second.
  void Run(const Context& context, const Handler& handler, const std::function<bool()>& stop = nullptr);

 private:
  struct Connection;
  void Accept(std::vector<Connection>& connections);
  void Read(Connection& connection, const Handler& handler);
  void Write(Connection& connection) const;
  void TakeRequests(Connection& connection, const Handler& handler);
  std::string AnswerBytes(const HttpRequest& request, const HttpAnswer& answer, bool close) const;

  std::string address_;
  uint16_t port_ = 0;
  int listener_ = -1;
  std::vector<std::string> hosts_;
};

}  // namespace l2gcn
