#include "report/serve/http_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "core/error_format.h"

namespace l2gcn {
namespace {

using ServeClock = std::chrono::steady_clock;

constexpr size_t kMostConnections = 256, kMostRequestBytes = 16 << 10;
constexpr auto kMostWait = std::chrono::seconds(10);
constexpr int kPollMilliseconds = 200;

std::string LowerCaseHeader(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

const char* ReasonOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    default:
      return "Internal Server Error";
  }
}

bool IsLoopback(const std::string& address) { return address.rfind("127.", 0) == 0 || address == "::1"; }

}  // namespace

struct HttpServer::Connection {
  int socket = -1;
  std::string in, out;
  size_t sent = 0;
  bool close_after = false;
  ServeClock::time_point deadline = ServeClock::now() + kMostWait;

  bool wants_write() const { return sent < out.size(); }
  void Close() {
    if (socket >= 0) ::close(socket);
    socket = -1;
  }
};

bool ParseHttpHead(std::string_view head, HttpRequest& request) {
  const size_t line_end = std::min(head.find("\r\n"), head.size());
  const std::string_view line = head.substr(0, line_end);
  const size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || last <= first) return false;
  const std::string_view target = line.substr(first + 1, last - first - 1);
  if (line.substr(last + 1, 7) != "HTTP/1." || target.empty() || target.front() != '/') return false;
  request.method = line.substr(0, first);
  request.path = target.substr(0, target.find('?'));
  for (size_t at = line_end + 2; at < head.size();) {
    const size_t end = std::min(head.find("\r\n", at), head.size());
    const std::string_view field = head.substr(at, end - at);
    const size_t colon = field.find(':');
    if (colon == std::string_view::npos || colon == 0) return false;
    const std::string name = LowerCaseHeader(field.substr(0, colon));
    // Two hosts in one request are a trick to pass one check with the one and be routed by the other.
    if (!request.headers.emplace(name, Trimmed(field.substr(colon + 1))).second &&
        (name == "host" || name == "origin"))
      return false;
    at = end + 2;
  }
  return true;
}

bool IsOwnRequest(const HttpRequest& request, const std::vector<std::string>& hosts) {
  const auto value = [&](const char* name) {
    const auto found = request.headers.find(name);
    return found == request.headers.end() ? std::string() : LowerCaseHeader(found->second);
  };
  const auto own = [&](const std::string& host) {
    return std::find(hosts.begin(), hosts.end(), host) != hosts.end();
  };
  if (!own(value("host"))) return false;
  if (value("sec-fetch-site") == "cross-site") return false;
  if (request.headers.count("origin") == 0) return true;
  const std::string origin = value("origin");
  return origin.rfind("http://", 0) == 0 && own(origin.substr(7));
}

HttpServer::HttpServer(const std::string& address, uint16_t port) : address_(address) {
  sockaddr_in v4 = {};
  sockaddr_in6 v6 = {};
  v4.sin_family = AF_INET, v4.sin_port = htons(port);
  v6.sin6_family = AF_INET6, v6.sin6_port = htons(port);
  const bool is_v4 = inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1;
  if (!is_v4 && inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) != 1) {
    ThrowUsage("--address {}: expected an address in numbers, such as 127.0.0.1 or ::1", address);
  }
  listener_ = ::socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int yes = 1;
  if (listener_ >= 0) setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  const auto* where = is_v4 ? reinterpret_cast<const sockaddr*>(&v4) : reinterpret_cast<const sockaddr*>(&v6);
  const socklen_t size = is_v4 ? sizeof(v4) : sizeof(v6);
  if (listener_ < 0 || ::bind(listener_, where, size) != 0 || ::listen(listener_, 256) != 0) {
    const int reason = errno;
    if (listener_ >= 0) ::close(listener_);
    ThrowUsage("{} port {}: cannot be listened on: {}; choose another with --port", address, port,
               std::strerror(reason));
  }
  sockaddr_storage bound = {};
  socklen_t bound_size = sizeof(bound);
  getsockname(listener_, reinterpret_cast<sockaddr*>(&bound), &bound_size);
  port_ = ntohs(is_v4 ? reinterpret_cast<sockaddr_in*>(&bound)->sin_port
                      : reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port);
  std::vector<std::string> names = {is_v4 ? address : "[" + LowerCaseHeader(address) + "]"};
  if (IsLoopback(address)) names.insert(names.end(), {"localhost", "127.0.0.1", "[::1]"});
  for (const std::string& name : names) {
    hosts_.push_back(fmt::format("{}:{}", name, port_));
    if (port_ == 80) hosts_.push_back(name);
  }
}

HttpServer::~HttpServer() {
  if (listener_ >= 0) ::close(listener_);
}

std::string HttpServer::url() const { return "http://" + hosts_.front() + "/"; }

void HttpServer::Run(const Context& context, const Handler& handler, const std::function<bool()>& stop) {
  std::vector<Connection> connections;
  try {
    while (!stop || !stop()) {
      context.CheckCancelled();
      std::vector<pollfd> watched = {{listener_, POLLIN, 0}};
      for (const Connection& c : connections) {
        watched.push_back({c.socket, static_cast<short>(c.wants_write() ? POLLOUT : POLLIN), 0});
      }
      if (::poll(watched.data(), watched.size(), kPollMilliseconds) < 0 && errno != EINTR) {
        ThrowRuntime("serve: poll: {}", std::strerror(errno));
      }
      const auto now = ServeClock::now();
      for (size_t i = 0; i < connections.size(); ++i) {
        const short seen = watched[i + 1].revents;
        if ((seen & POLLOUT) != 0) Write(connections[i]);
        if ((seen & (POLLIN | POLLHUP | POLLERR)) != 0 && (seen & POLLOUT) == 0)
          Read(connections[i], handler);
        if (connections[i].socket >= 0 && now > connections[i].deadline) connections[i].Close();
      }
      std::erase_if(connections, [](const Connection& c) { return c.socket < 0; });
      if ((watched[0].revents & POLLIN) != 0) Accept(connections);
    }
  } catch (...) {
    for (Connection& c : connections) c.Close();
    throw;
  }
  for (Connection& c : connections) c.Close();
}

void HttpServer::Accept(std::vector<Connection>& connections) {
  for (int taken = 0; taken < 64; ++taken) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) return;
    if (connections.size() >= kMostConnections) {
      const auto oldest =
          std::min_element(connections.begin(), connections.end(),
                           [](const Connection& a, const Connection& b) { return a.deadline < b.deadline; });
      oldest->Close();
      connections.erase(oldest);
    }
    connections.emplace_back().socket = socket;
  }
}

void HttpServer::Read(Connection& connection, const Handler& handler) {
  char buffer[4096];
  const ssize_t count = ::recv(connection.socket, buffer, sizeof(buffer), 0);
  if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return connection.Close();
  if (count < 0) return;
  connection.in.append(buffer, static_cast<size_t>(count));
  TakeRequests(connection, handler);
}

// Requests that are complete, one behind the other.
void HttpServer::TakeRequests(Connection& connection, const Handler& handler) {
  while (connection.socket >= 0 && !connection.wants_write() && !connection.close_after) {
    const size_t end = connection.in.find("\r\n\r\n");
    if (end == std::string::npos && connection.in.size() <= kMostRequestBytes) return;
    HttpRequest request;
    HttpAnswer answer;
    bool close = true;
    if (end == std::string::npos) {
      answer = {413, "text/plain; charset=utf-8", "the request is too long\n", {}};
    } else if (!ParseHttpHead(std::string_view(connection.in).substr(0, end), request)) {
      answer = {400, "text/plain; charset=utf-8", "not an HTTP/1.1 request\n", {}};
    } else if (!IsOwnRequest(request, hosts_)) {
      answer = {
          403, "text/plain; charset=utf-8", "this server answers requests to " + url() + " alone\n", {}};
    } else if (request.method != "GET" && request.method != "HEAD") {
      answer = {405, "text/plain; charset=utf-8", "only GET and HEAD\n", {{"Allow", "GET, HEAD"}}};
    } else {
      answer = handler(request);
      const auto wish = request.headers.find("connection");
      close = (wish != request.headers.end() && LowerCaseHeader(wish->second) == "close") ||
              request.headers.count("content-length") != 0;
    }
    connection.in.erase(0, end == std::string::npos ? connection.in.size() : end + 4);
    connection.out = AnswerBytes(request, answer, close);
    connection.sent = 0;
    connection.close_after = close;
    connection.deadline = ServeClock::now() + kMostWait;
    Write(connection);
  }
}

void HttpServer::Write(Connection& connection) const {
  while (connection.wants_write()) {
    const ssize_t count = ::send(connection.socket, connection.out.data() + connection.sent,
                                 connection.out.size() - connection.sent, MSG_NOSIGNAL);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) return connection.Close();
    connection.sent += static_cast<size_t>(count);
    connection.deadline = ServeClock::now() + kMostWait;
  }
  connection.out.clear();
  connection.sent = 0;
  if (connection.close_after) connection.Close();
}

std::string HttpServer::AnswerBytes(const HttpRequest& request, const HttpAnswer& answer, bool close) const {
  std::string bytes = fmt::format("HTTP/1.1 {} {}\r\n", answer.status, ReasonOf(answer.status));
  if (answer.status != 204)
    bytes += fmt::format("Content-Type: {}\r\nContent-Length: {}\r\n", answer.type, answer.body.size());
  bytes += fmt::format(
      "Connection: {}\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: "
      "DENY\r\n"
      "Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n",
      close ? "close" : "keep-alive");
  for (const auto& [name, value] : answer.headers) bytes += fmt::format("{}: {}\r\n", name, value);
  bytes += "\r\n";
  if (request.method != "HEAD" && answer.status != 204) bytes += answer.body;
  return bytes;
}

}  // namespace l2gcn
