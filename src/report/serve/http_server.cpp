#include "report/serve/http_server.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <list>
#include <tuple>

#include "core/error_format.h"

namespace l2gcn {
namespace {

using ServeClock = std::chrono::steady_clock;

constexpr int kTurnMilliseconds = 200;  // how often Run asks whether to stop
constexpr int kMostAborts = 64;         // in a turn, which stays short so
constexpr auto kBetweenSweeps = std::chrono::milliseconds(100);
// Connections inherit it. The system would let a client who reads nothing fill megabytes.
constexpr int kSocketBufferBytes = 64 << 10;
constexpr uint32_t kMostSpareFiles = 192;  // for everything but connections
constexpr std::pair<const char*, const char*> kEveryResponse[] = {
    {"Cache-Control", "no-store"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"}};

// The functions of libmicrohttpd that are used here.
struct HttpLibrary {
  decltype(&MHD_start_daemon) start_daemon = nullptr;
  decltype(&MHD_quiesce_daemon) quiesce_daemon = nullptr;
  decltype(&MHD_stop_daemon) stop_daemon = nullptr;
  decltype(&MHD_run_wait) run_wait = nullptr;
  decltype(&MHD_get_connection_info) get_connection_info = nullptr;
  decltype(&MHD_get_connection_values) get_connection_values = nullptr;
  decltype(&MHD_create_response_from_buffer_with_free_callback_cls) create_response = nullptr;
  decltype(&MHD_add_response_header) add_response_header = nullptr;
  decltype(&MHD_queue_response) queue_response = nullptr;
  decltype(&MHD_destroy_response) destroy_response = nullptr;
};

HttpLibrary LoadHttpLibrary() {
  constexpr const char* kName = "libmicrohttpd.so.12";
  void* const opened = dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr)
    ThrowUsage("serve needs libmicrohttpd, which could not be loaded: {}; install libmicrohttpd12",
               dlerror());
  HttpLibrary library;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(opened, name));
    if (function == nullptr)
      ThrowUsage("{} has no function {}; install version 0.9.75 or later", kName, name);
  };
  find(library.start_daemon, "MHD_start_daemon");
  find(library.quiesce_daemon, "MHD_quiesce_daemon");
  find(library.stop_daemon, "MHD_stop_daemon");
  find(library.run_wait, "MHD_run_wait");
  find(library.get_connection_info, "MHD_get_connection_info");
  find(library.get_connection_values, "MHD_get_connection_values");
  find(library.create_response, "MHD_create_response_from_buffer_with_free_callback_cls");
  find(library.add_response_header, "MHD_add_response_header");
  find(library.queue_response, "MHD_queue_response");
  find(library.destroy_response, "MHD_destroy_response");
  return library;
}

// Loaded once and kept until the process ends.
const HttpLibrary& LoadedHttp() {
  static const HttpLibrary library = LoadHttpLibrary();
  return library;
}

// A socket that listens, and its port.
std::pair<Descriptor, uint16_t> Listen(const std::string& address, uint16_t port) {
  union {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;
  } where = {};
  socklen_t size = 0;
  if (inet_pton(AF_INET, address.c_str(), &where.v4.sin_addr) == 1) {
    where.v4.sin_family = AF_INET, where.v4.sin_port = htons(port), size = sizeof(where.v4);
  } else if (inet_pton(AF_INET6, address.c_str(), &where.v6.sin6_addr) == 1) {
    where.v6.sin6_family = AF_INET6, where.v6.sin6_port = htons(port), size = sizeof(where.v6);
  } else {
    ThrowUsage("--address {}: expected an IP address such as 127.0.0.1, 0.0.0.0 or ::1", address);
  }
  Descriptor listener(::socket(where.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int yes = 1, buffer = kSocketBufferBytes;
  if (listener.valid()) {
    setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    setsockopt(listener.get(), SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
    setsockopt(listener.get(), SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
  }
  if (!listener.valid() || ::bind(listener.get(), &where.any, size) != 0 ||
      ::listen(listener.get(), SOMAXCONN) != 0) {
    ThrowUsage("{} port {}: cannot be listened on: {}; choose another with --port", address, port,
               std::strerror(errno));
  }
  getsockname(listener.get(), &where.any, &size);
  return {std::move(listener),
          ntohs(where.any.sa_family == AF_INET ? where.v4.sin_port : where.v6.sin6_port)};
}

// The daemon of libmicrohttpd with its connections; every callback runs inside Turn.
class HttpDaemon {
 public:
  HttpDaemon(Descriptor& listener, const std::vector<std::string>& names, const HttpLimits& limits,
             const HttpServer::Handler& handler)
      : names_(names), limits_(limits), handler_(handler) {
    rlimit files = {};
    getrlimit(RLIMIT_NOFILE, &files);
    const auto most_files = static_cast<uint32_t>(std::min<rlim_t>(files.rlim_cur, 1u << 20));
    const uint32_t spare = std::min(kMostSpareFiles, most_files / 2);
    limits_.connections = std::min(limits.connections, most_files - spare);
    // The library's own limit is above ours: at that limit it would accept nobody until somebody leaves.
    daemon_ = mhd_.start_daemon(
        MHD_USE_EPOLL, 0, nullptr, nullptr, &HttpDaemon::OnRequest, this, MHD_OPTION_LISTEN_SOCKET,
        listener.get(), MHD_OPTION_CONNECTION_LIMIT, limits_.connections + spare / 3,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, limits_.connection_bytes, MHD_OPTION_NOTIFY_CONNECTION,
        &HttpDaemon::OnConnection, this, MHD_OPTION_NOTIFY_COMPLETED, &HttpDaemon::OnCompleted, this,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (daemon_ == nullptr) ThrowRuntime("serve: libmicrohttpd could not be started");
    listener.Release();  // the daemon closes it
  }
  ~HttpDaemon() { mhd_.stop_daemon(daemon_); }
  HttpDaemon(const HttpDaemon&) = delete;
  HttpDaemon& operator=(const HttpDaemon&) = delete;

  // Serves what is ready, waiting at most so long for it.
  void Turn(int milliseconds) {
    if (mhd_.run_wait(daemon_, milliseconds) != MHD_YES) ThrowRuntime("serve: libmicrohttpd failed");
    const auto now = ServeClock::now();
    for (int aborted = 0; aborted < kMostAborts && !connections_.empty(); ++aborted) {
      if (now - connections_.front().since <= limits_.request_time) break;
      Abort(connections_.front());
    }
    if (now - swept_ < kBetweenSweeps) return;
    swept_ = now;
    for (auto next = connections_.begin(); next != connections_.end();) HangIfEnded(*next++);
  }

  // Accepts nobody any more and gives the responses that are being sent a moment to arrive.
  void Drain() {
    const Descriptor closed(mhd_.quiesce_daemon(daemon_));
    const auto end = ServeClock::now() + limits_.stop_time;
    while (exchanges_ > 0 && ServeClock::now() < end) Turn(20);
  }

 private:
  struct Connection {
    int socket = -1;
    ServeClock::time_point since;  // it was opened, or its last response ended
    bool answering = false;        // a response is being sent
    bool ended = false;            // the client sends nothing any more, as the last sweep saw
    bool hung = false;
    std::list<Connection>::iterator self;
  };
  struct Exchange {
    HttpRequest request;
    bool too_large = false;
  };

  // Takes a connection away from a slow client, and with it what the system has still to send.
  void Abort(Connection& connection) {
    const linger none = {1, 0};
    setsockopt(connection.socket, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
    Hang(connection);
  }

  // Ends a connection: the library notices in its next turn.
  void Hang(Connection& connection) {
    ::shutdown(connection.socket, SHUT_RDWR);
    connection.hung = true;
    hung_.splice(hung_.end(), connections_, connection.self);
  }

  // The library does not notice a client's end that arrives together with its last bytes. Two sweeps must see
  // it: after the first one, requests that the library has read already may still be answered.
  void HangIfEnded(Connection& connection) {
    char byte = 0;
    if (connection.answering || ::recv(connection.socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0) return;
    if (connection.ended) Hang(connection);
    connection.ended = true;
  }

  Connection* ConnectionOf(MHD_Connection* handle) const {
    const MHD_ConnectionInfo* info = mhd_.get_connection_info(handle, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == nullptr ? nullptr : static_cast<Connection*>(info->socket_context);
  }

  static void OnConnection(void* self, MHD_Connection* handle, void** context,
                           MHD_ConnectionNotificationCode what) {
    auto& daemon = *static_cast<HttpDaemon*>(self);
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
      if (*context == nullptr) return;
      const Connection& connection = *static_cast<Connection*>(*context);
      (connection.hung ? daemon.hung_ : daemon.connections_).erase(connection.self);
      return;
    }
    if (daemon.connections_.size() >= daemon.limits_.connections) daemon.Abort(daemon.connections_.front());
    const int socket = daemon.mhd_.get_connection_info(handle, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    Connection& connection = daemon.connections_.emplace_back();
    connection.socket = socket;
    connection.since = ServeClock::now();
    connection.self = std::prev(daemon.connections_.end());
    *context = &connection;
  }

  static void OnCompleted(void* self, MHD_Connection* handle, void** exchange, MHD_RequestTerminationCode) {
    if (*exchange == nullptr) return;
    auto& daemon = *static_cast<HttpDaemon*>(self);
    delete static_cast<Exchange*>(*exchange);
    *exchange = nullptr;
    --daemon.exchanges_;
    Connection* const connection = daemon.ConnectionOf(handle);
    if (connection == nullptr || connection->hung) return;
    connection->since = ServeClock::now();
    connection->answering = connection->ended = false;
    daemon.connections_.splice(daemon.connections_.end(), daemon.connections_, connection->self);
  }

  // Called when the header is there, for each piece of the body, and once more at its end.
  static MHD_Result OnRequest(void* self, MHD_Connection* handle, const char* path, const char* method,
                              const char*, const char* piece, size_t* piece_size, void** exchange) {
    auto& daemon = *static_cast<HttpDaemon*>(self);
    try {
      if (*exchange == nullptr) {
        *exchange = new Exchange{daemon.RequestOf(handle, path, method)};
        ++daemon.exchanges_;
        return daemon.AnnouncesTooMuch(static_cast<Exchange*>(*exchange)->request)
                   ? daemon.Send(handle, daemon.TooLarge())
                   : MHD_YES;
      }
      auto& [request, too_large] = *static_cast<Exchange*>(*exchange);
      if (*piece_size == 0)
        return daemon.Send(handle, too_large ? daemon.TooLarge() : daemon.Answer(request));
      too_large = too_large || *piece_size > daemon.limits_.body_bytes - request.body.size();
      if (!too_large) request.body.append(piece, *piece_size);
      *piece_size = 0;
      return MHD_YES;
    } catch (const std::exception&) {
      return MHD_NO;  // no memory: ends this connection alone
    }
  }

  HttpRequest RequestOf(MHD_Connection* handle, const char* path, const char* method) const {
    HttpRequest request = {.method = method, .path = path};
    const auto add = [](void* into, MHD_ValueKind, const char* name, const char* value) {
      std::string lower(name);
      for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
      static_cast<HttpRequest*>(into)->headers.emplace(lower, value == nullptr ? "" : value);
      return MHD_YES;
    };
    mhd_.get_connection_values(handle, MHD_HEADER_KIND, add, &request);
    return request;
  }

  bool AnnouncesTooMuch(const HttpRequest& request) const {
    const auto length = request.headers.find("content-length");
    if (length == request.headers.end()) return false;
    const std::string& text = length->second;
    uint64_t bytes = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
    return error != std::errc() || bytes > limits_.body_bytes;
  }

  HttpResponse TooLarge() const {
    return TextResponse(413, fmt::format("a request's body has at most {} bytes here\n", limits_.body_bytes));
  }

  HttpResponse Answer(const HttpRequest& request) const {
    if (auto refusal = RefusedRequest(request, names_)) return *std::move(refusal);
    try {
      return handler_(request);
    } catch (const std::exception& error) {
      return TextResponse(500, fmt::format("{}\n", error.what()));
    }
  }

  MHD_Result Send(MHD_Connection* handle, const HttpResponse& response) const {
    if (Connection* const connection = ConnectionOf(handle)) connection->answering = true;
    auto owner = std::make_unique<std::shared_ptr<const std::string>>(response.body);
    const auto release = [](void* held) { delete static_cast<std::shared_ptr<const std::string>*>(held); };
    MHD_Response* const made = mhd_.create_response(
        response.body->size(), const_cast<char*>(response.body->data()), release, owner.get());
    if (made == nullptr) return MHD_NO;
    owner.release();
    bool added = response.type.empty() ||
                 mhd_.add_response_header(made, "Content-Type", response.type.c_str()) == MHD_YES;
    const auto add = [&](const char* name, const char* value) {
      added = added && mhd_.add_response_header(made, name, value) == MHD_YES;
    };
    for (const auto& [name, value] : kEveryResponse) add(name, value);
    for (const auto& [name, value] : response.headers) add(name.c_str(), value.c_str());
    const MHD_Result result =
        added ? mhd_.queue_response(handle, static_cast<unsigned>(response.status), made) : MHD_NO;
    mhd_.destroy_response(made);
    return result;
  }

  const HttpLibrary& mhd_ = LoadedHttp();
  const std::vector<std::string>& names_;
  HttpLimits limits_;
  const HttpServer::Handler& handler_;
  std::list<Connection>
      connections_;             // the one that has gone longest without finishing a request comes first
  std::list<Connection> hung_;  // ended here, not yet closed by the library
  size_t exchanges_ = 0;        // requests whose response has not been sent
  ServeClock::time_point swept_;
  MHD_Daemon* daemon_ = nullptr;
};

}  // namespace

HttpServer::HttpServer(const std::string& address, uint16_t port, const std::vector<std::string>& names,
                       const HttpLimits& limits)
    : address_(address), names_(names), limits_(limits) {
  LoadedHttp();
  std::tie(listener_, port_) = Listen(address, port);
}

std::string HttpServer::url() const {
  const bool v6 = address_.find(':') != std::string::npos;
  return fmt::format("http://{}:{}/", v6 ? "[" + address_ + "]" : address_, port_);
}

void HttpServer::Run(const Context& context, const Handler& handler, const std::function<bool()>& stop) {
  HttpDaemon daemon(listener_, names_, limits_, handler);
  const auto cancelled = [&] { return context.cancel != nullptr && *context.cancel; };
  while (!cancelled() && (!stop || !stop())) daemon.Turn(kTurnMilliseconds);
  daemon.Drain();
  context.CheckCancelled();
}

}  // namespace l2gcn
