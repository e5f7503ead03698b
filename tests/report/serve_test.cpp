#include "l2gcn/serve.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "core/files.h"
#include "l2gcn/error.h"
#include "l2gcn/train.h"
#include "report/serve/http_server.h"
#include "report/serve/run_pages.h"
#include "train/small_dataset.h"

namespace l2gcn {
namespace {

namespace fs = std::filesystem;

class Client {
 public:
  explicit Client(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0;
  }
  ~Client() { ::close(socket_); }
  void Send(const std::string& text) const { ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL); }
  // Until the server closes.
  std::string ReadAll() const {
    std::string text;
    char buffer[4096];
    for (ssize_t count = 0; (count = ::recv(socket_, buffer, sizeof(buffer), 0)) > 0;)
      text.append(buffer, static_cast<size_t>(count));
    return text;
  }
  bool connected() const { return connected_; }

 private:
  int socket_;
  bool connected_ = false;
};

std::string Get(uint16_t port, const std::string& path, const std::string& host,
                const std::string& more = "") {
  Client client(port);
  client.Send("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n" + more + "\r\n");
  return client.ReadAll();
}

std::string StatusOf(const std::string& answer) { return answer.substr(0, 12); }

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

constexpr size_t kLargePage = 8 << 20;  // more than the system's buffers of a connection take

// A server with a few pages, on a thread of its own, for as long as the test lasts.
class ServerTest : public ::testing::Test {
 protected:
  explicit ServerTest(const HttpLimits& limits = {.body_bytes = 100})
      : server_("127.0.0.1", 0, {"lab.example"}, limits),
        host_("127.0.0.1:" + std::to_string(server_.port())),
        large_(std::make_shared<const std::string>(kLargePage, 'x')) {
    thread_ = std::thread([this] {
      server_.Run(
          context_, [this](const auto& request) { return Page(request); }, [this] { return stop_.load(); });
    });
  }
  ~ServerTest() override { Stop(); }
  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

  HttpResponse Page(const HttpRequest& request) const {
    if (request.path == "/throw") throw std::runtime_error("the reason");
    if (request.path == "/large") return {.body = large_};
    if (request.path != "/") return TextResponse(404, "no");
    return TextResponse(200, request.method == "POST" ? "got " + request.body : "hello");
  }
  // What the server sends back to these bytes until it closes.
  std::string Answer(const std::string& request) const {
    Client client(server_.port());
    client.Send(request);
    return client.ReadAll();
  }
  std::string HostLine() const { return "Host: " + host_ + "\r\n"; }
  void ExpectQuick() const {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(StatusOf(Get(server_.port(), "/", host_)), "HTTP/1.1 200");
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  }

  Context context_ = MakeContext(1);
  HttpServer server_;
  const std::string host_;
  const std::shared_ptr<const std::string> large_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

TEST(RefusedRequest, TakesAddressesAndGivenNamesAlone) {
  const auto status = [](std::multimap<std::string, std::string> headers) {
    const auto refused = RefusedRequest({"GET", "/", std::move(headers)}, {"lab.example"});
    return refused ? refused->status : 200;
  };
  for (const char* host : {"127.0.0.1:6060", "localhost", "LocalHost:1", "[::1]:6060", "192.168.7.3:6060",
                           "0.0.0.0:80", "[fe80::1]", "lab.example:8080", "Lab.Example"}) {
    EXPECT_EQ(status({{"host", host}}), 200) << host;
  }
  for (const char* host : {"evil.example", "evil.example:6060", "127.0.0.1.evil.example", "1.2.3",
                           "localhost.", "", "localhost:80a", "127.0.0.1:80@evil.example", "[::1", "::1",
                           "[]", "lab.example.evil", "[::1]evil.example"}) {
    EXPECT_EQ(status({{"host", host}}), 403) << host;
  }
  EXPECT_EQ(status({}), 400);
  EXPECT_EQ(status({{"host", "localhost"}, {"host", "evil.example"}}), 400) << "two hosts";
  EXPECT_EQ(status({{"host", "localhost:1"}, {"origin", "http://localhost:1"}}), 200);
  EXPECT_EQ(status({{"host", "localhost:1"}, {"origin", "http://localhost:2"}}), 403)
      << "another server of this machine";
  EXPECT_EQ(status({{"host", "localhost:1"}, {"origin", "null"}}), 403);
  EXPECT_EQ(status({{"host", "localhost:1"}, {"origin", "http://evil.example"}}), 403);
  EXPECT_EQ(status({{"host", "localhost:1"}, {"sec-fetch-site", "cross-site"}}), 403);
  EXPECT_EQ(status({{"host", "localhost:1"}, {"sec-fetch-site", "same-origin"}}), 200);
}

TEST_F(ServerTest, AnswersWithItsHeadersAndChecksTheHost) {
  const uint16_t port = server_.port();
  const std::string good = Get(port, "/?a=b", host_);
  EXPECT_EQ(StatusOf(good), "HTTP/1.1 200");
  EXPECT_NE(good.find("\r\n\r\nhello"), std::string::npos);
  for (const char* header :
       {"X-Content-Type-Options: nosniff", "X-Frame-Options: DENY", "Referrer-Policy: no-referrer",
        "Cross-Origin-Resource-Policy: same-origin", "Cache-Control: no-store", "Content-Length: 5"}) {
    EXPECT_NE(good.find(header), std::string::npos) << header;
  }
  EXPECT_EQ(StatusOf(Get(port, "/other", host_)), "HTTP/1.1 404");
  EXPECT_EQ(StatusOf(Get(port, "/", "lab.example")), "HTTP/1.1 200");
  EXPECT_EQ(StatusOf(Get(port, "/", "evil.example")), "HTTP/1.1 403");
  EXPECT_EQ(StatusOf(Get(port, "/", host_, "Origin: http://evil.example\r\n")), "HTTP/1.1 403");
  EXPECT_EQ(StatusOf(Get(port, "/", host_, "Host: evil.example\r\n")), "HTTP/1.1 400") << "two hosts";
}

// What a handler throws ends neither the server nor the connection.
TEST_F(ServerTest, AHandlerThatThrowsIsStatus500WithTheReason) {
  Client client(server_.port());
  client.Send("GET /throw HTTP/1.1\r\n" + HostLine() + "\r\nGET / HTTP/1.1\r\n" + HostLine() +
              "Connection: close\r\n\r\n");
  const std::string both = client.ReadAll();
  EXPECT_EQ(StatusOf(both), "HTTP/1.1 500");
  EXPECT_NE(both.find("the reason"), std::string::npos);
  EXPECT_NE(both.find("hello"), std::string::npos);
}

TEST_F(ServerTest, RefusesWhatIsNoRequestOrTooLarge) {
  EXPECT_NE(StatusOf(Answer("nonsense\r\n\r\n")), "HTTP/1.1 200")
      << "some versions of the library only close";
  EXPECT_EQ(StatusOf(Answer("GET / HTTP/1.1\r\n\r\n")), "HTTP/1.1 400") << "no host";
  EXPECT_EQ(StatusOf(Answer("GET / HTTP/1.1\r\n" + HostLine() + "Content-Length: x\r\n\r\n")).substr(0, 10),
            "HTTP/1.1 4");
  EXPECT_EQ(StatusOf(Answer("GET /" + std::string(20000, 'a') + " HTTP/1.1\r\n")).substr(0, 10),
            "HTTP/1.1 4");
  EXPECT_EQ(
      StatusOf(Answer("GET / HTTP/1.1\r\n" + HostLine() + "A: " + std::string(20000, 'a'))).substr(0, 10),
      "HTTP/1.1 4");
  EXPECT_EQ(StatusOf(Answer("BREW / HTTP/1.1\r\n" + HostLine() + "Connection: close\r\n\r\n")),
            "HTTP/1.1 200")
      << "methods are the handler's business";
  ExpectQuick();
}

TEST_F(ServerTest, TakesBodiesUpToTheLimit) {
  const auto post = [&](const std::string& header, const std::string& body) {
    return Answer("POST / HTTP/1.1\r\n" + HostLine() + "Connection: close\r\n" + header + "\r\n\r\n" + body);
  };
  EXPECT_NE(post("Content-Length: 5", "abcde").find("got abcde"), std::string::npos);
  EXPECT_NE(post("Transfer-Encoding: chunked", "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n").find("got abcde"),
            std::string::npos);
  EXPECT_EQ(StatusOf(post("Content-Length: 101", "")), "HTTP/1.1 413") << "refused before the body is sent";
  EXPECT_EQ(StatusOf(post("Content-Length: 99999999999999999999999", "")).substr(0, 10), "HTTP/1.1 4");
  const std::string piece = "40\r\n" + std::string(64, 'a') + "\r\n";
  EXPECT_EQ(StatusOf(post("Transfer-Encoding: chunked", piece + piece + "0\r\n\r\n")), "HTTP/1.1 413");
}

TEST_F(ServerTest, OneConnectionCarriesSeveralRequests) {
  const std::string one = "GET / HTTP/1.1\r\n" + HostLine() + "\r\n";
  const std::string all =
      Answer(one + one + "HEAD / HTTP/1.1\r\n" + HostLine() + "Connection: close\r\n\r\n");
  EXPECT_EQ(CountOf(all, "HTTP/1.1 200"), 3u);
  EXPECT_EQ(CountOf(all, "Content-Length: 5"), 3u);
  EXPECT_EQ(CountOf(all, "hello"), 2u) << "HEAD has no body";
}

// ab and other old clients wait for the end of the connection.
TEST_F(ServerTest, ClosesHttp10ConnectionsAtOnce) {
  const auto start = std::chrono::steady_clock::now();
  const std::string answer = Answer("GET / HTTP/1.0\r\n" + HostLine() + "\r\n");
  EXPECT_NE(answer.find("hello"), std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  const std::string kept = "GET / HTTP/1.0\r\n" + HostLine() + "Connection: Keep-Alive\r\n\r\n";
  EXPECT_EQ(CountOf(Answer(kept + "GET / HTTP/1.0\r\n" + HostLine() + "\r\n"), "hello"), 2u);
}

// Half requests, idle connections, and readers who ask for much and read nothing.
TEST_F(ServerTest, SlowClientsHoldUpNobody) {
  std::vector<std::unique_ptr<Client>> slow;
  const std::string large = "GET /large HTTP/1.1\r\n" + HostLine() + "\r\n";
  for (int i = 0; i < 150; ++i) {
    slow.push_back(std::make_unique<Client>(server_.port()));
    if (i % 3 == 0) slow.back()->Send("GET / HT");
    if (i % 3 == 1) slow.back()->Send(large + large + large);
  }
  for (int turn = 0; turn < 5; ++turn) ExpectQuick();
}

TEST_F(ServerTest, StopsWhileClientsHang) {
  Client half(server_.port()), idle(server_.port()), reader(server_.port());
  half.Send("GET / HT");
  reader.Send("GET /large HTTP/1.1\r\n" + HostLine() + "\r\n");
  ExpectQuick();
  const auto start = std::chrono::steady_clock::now();
  Stop();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3));
  EXPECT_EQ(half.ReadAll(), "");
  EXPECT_EQ(idle.ReadAll(), "");
}

// A response that is being read when the server stops arrives whole.
TEST_F(ServerTest, FinishesResponsesBeforeItStops) {
  Client client(server_.port());
  client.Send("GET /large HTTP/1.1\r\n" + HostLine() + "Connection: close\r\n\r\n");
  ExpectQuick();
  stop_ = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_GT(client.ReadAll().size(), kLargePage);
}

class NarrowServerTest : public ServerTest {
 protected:
  NarrowServerTest() : ServerTest({.connections = 20, .request_time = std::chrono::seconds(1)}) {}
};

// More slow clients than connections: the one that has waited longest makes room.
TEST_F(NarrowServerTest, AFullServerTakesNewClients) {
  std::vector<std::unique_ptr<Client>> slow;
  for (int i = 0; i < 60; ++i) {
    slow.push_back(std::make_unique<Client>(server_.port()));
    slow.back()->Send("GET / HT");
    if (i % 10 == 9) ExpectQuick();
  }
  EXPECT_EQ(slow.front()->ReadAll(), "") << "closed";
}

TEST_F(NarrowServerTest, ClosesClientsThatFinishNoRequest) {
  Client idle(server_.port()), half(server_.port()), reader(server_.port());
  half.Send("GET / HT");
  reader.Send("GET /large HTTP/1.1\r\n" + HostLine() + "\r\n");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(idle.ReadAll(), "");
  EXPECT_EQ(half.ReadAll(), "");
  EXPECT_LT(reader.ReadAll().size(), kLargePage);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(4));
}

// Addresses of the machine cannot be known to a server that listens on all of them.
TEST(HttpServer, OnAllAddressesAnswersToAnyOfThem) {
  HttpServer server("0.0.0.0", 0);
  std::atomic<bool> stop = false;
  std::thread thread([&] {
    server.Run(
        MakeContext(1), [](const HttpRequest&) { return TextResponse(200, "hello"); },
        [&] { return stop.load(); });
  });
  const std::string port = ":" + std::to_string(server.port());
  for (const char* host : {"127.0.0.1", "192.168.7.3", "0.0.0.0", "localhost"})
    EXPECT_EQ(StatusOf(Get(server.port(), "/", host + port)), "HTTP/1.1 200") << host;
  EXPECT_EQ(StatusOf(Get(server.port(), "/", "evil.example" + port)), "HTTP/1.1 403");
  stop = true;
  thread.join();
}

TEST(HttpServer, SaysWhyItCannotListen) {
  const HttpServer first("127.0.0.1", 0);
  EXPECT_THROW(HttpServer("127.0.0.1", first.port()), Error);
  EXPECT_THROW(HttpServer("localhost", 0), Error);
  EXPECT_EQ(HttpServer("0.0.0.0", 0).url().substr(0, 15), "http://0.0.0.0:");
}

TEST(LivePage, SurvivesWhateverProgressHolds) {
  const std::string begin = "{\"event\":\"begin\",\"dataset\":\"set\",\"method\":\"lgcn\",\"runs\":1}\n";
  const std::string deep = "{\"a\":" + std::string(200000, '[') + std::string(200000, ']') + "}\n";
  const std::string good =
      "{\"event\":\"progress\",\"phase\":\"train\",\"epoch\":2,\"epochs\":9,\"losses\":[[1,0.75]]}\n";
  const std::string page = LivePage("run", begin + deep + "{\"eve\n" + good, "v");
  EXPECT_NE(page.find("2 of 9"), std::string::npos) << "the lines that can be read are shown";
  for (const char* line : {"{\"event\":7}", "{\"losses\":[[1]]}", "{\"losses\":3}",
                           "{\"layer\":\"a\",\"losses\":[]}", "{\"phase\":{}}", "{\"losses\":[[\"a\",1]]}"}) {
    EXPECT_THROW(LivePage("run", begin + line + "\n", "v"), Error) << line;
  }
  // Numbers at the edge of what a double holds neither hang the chart nor stop it.
  for (const char* points : {"[[1e17,1],[100000000000000016,2]]", "[[1,-1.7e308],[2,1.7e308]]",
                             "[[1,5e-324]]", "[[1e308,null]]"}) {
    EXPECT_NO_THROW(LivePage("run", fmt::format("{{\"losses\":{}}}\n", points), "v")) << points;
  }
  std::string many = "{\"losses\":[[0,1]";
  for (int i = 1; i < 50000; ++i) many += fmt::format(",[{},1]", i);
  EXPECT_LT(LivePage("run", many + "]}\n", "v").size(), size_t{400} << 10) << "long runs have small pages";
}

// Damaged files of a run are status 500 with the reason, and the server lives on.
TEST(RunPages, DamagedRunsAreStatus500) {
  const fs::path root = fs::temp_directory_path() / ("l2gcn-pages-" + std::to_string(getpid()));
  const std::string run = (root / "run").string();
  fs::create_directories(run);
  for (const std::string& result :
       {std::string("{\"runs\":"), std::string(100000, '['), std::string("{\"runs\":7,\"dataset\":7}")}) {
    WriteFileWhole(run + "/result.json", result);
    const Context context = MakeContext(1);
    RunPages pages(context, run, {});
    HttpResponse response;
    for (int turn = 0; turn < 200 && response.status != 500; ++turn) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      response = pages.Answer({"GET", "/"});
    }
    EXPECT_EQ(response.status, 500);
    EXPECT_NE(response.body->find("could not be built"), std::string::npos);
    EXPECT_NE(response.body->find(run), std::string::npos);
    EXPECT_EQ(pages.Answer({"GET", "/version"}).status, 200);
    EXPECT_EQ(pages.Answer({"POST", "/"}).status, 405);
    EXPECT_EQ(pages.Answer({"GET", "/../result.json"}).status, 404);
  }
  fs::remove_all(root);
}

// First the run in the making, then its report, from the same server.
TEST(Serve, FollowsARunAndThenShowsItsReport) {
  const fs::path root = fs::temp_directory_path() / ("l2gcn-serve-" + std::to_string(getpid()));
  const std::string run = (root / "run").string();
  EXPECT_THROW(ServeRun(MakeContext(1), run, {}), Error);
  fs::create_directories(run + ".unfinished");
  WriteFileWhole(
      run + ".unfinished/progress.jsonl",
      "{\"event\":\"begin\",\"dataset\":\"<b>set\",\"method\":\"lgcn\",\"runs\":1,\"started\":1774965900}\n"
      "{\"event\":\"seed\",\"seed\":0}\n"
      "{\"event\":\"progress\",\"phase\":\"train\",\"layer\":1,\"layers\":2,\"epoch\":2,"
      "\"epochs\":9,\"loss\":0.5,\"elapsed\":10,\"validation\":[2,0.8125],"
      "\"losses\":[[1,0.75],[2,0.5]]}\n{\"event\":\"prog");
  std::atomic<bool> cancel = false;
  Context context = MakeContext(1);
  context.cancel = &cancel;
  std::atomic<int> port = 0;
  ServeOptions options;
  options.report.ceilings = false;
  options.report.map_nodes = 10;
  options.on_ready = [&](const std::string& url) { port = std::stoi(url.substr(url.rfind(':') + 1)); };
  std::thread thread([&] { EXPECT_THROW(ServeRun(context, run, options), Error); });
  while (port == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const auto fetch = [&](const char* path) {
    return Get(static_cast<uint16_t>(port), path, "127.0.0.1:" + std::to_string(port));
  };
  const std::string live = fetch("/");
  EXPECT_NE(live.find("&lt;b&gt;set"), std::string::npos);
  EXPECT_NE(live.find("2 of 9"), std::string::npos);
  EXPECT_NE(live.find("Loss by epoch"), std::string::npos);
  EXPECT_NE(live.find("started 2026-03-31 14:05 UTC"), std::string::npos);
  EXPECT_NE(live.find("81.25 %"), std::string::npos);
  EXPECT_NE(live.find("Validation F1 by epoch"), std::string::npos);
  EXPECT_NE(live.find("<b>1 min 20 s"), std::string::npos) << "a ninth is done after ten seconds";
  EXPECT_NE(live.find("data-live="), std::string::npos);
  WriteFileWhole(run + ".unfinished/progress.jsonl",
                 "{\"event\":\"progress\",\"phase\":[],\"layer\":\"x\",\"validation\":7}\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  EXPECT_TRUE(fetch("/").starts_with("HTTP/1.1 ")) << "a damaged record costs at most the page";
  const std::string version = fetch("/version");
  fs::remove_all(run + ".unfinished");
  RunOptions train;
  train.output = run;
  train.dataset_spec = "small";
  RunTraining(MakeContext(1), SmallDataset(), SmallConfig(), train);
  std::string report;
  for (int turn = 0; turn < 200 && report.find("Settings and versions") == std::string::npos; ++turn) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    report = fetch("/");
  }
  EXPECT_NE(report.find("Settings and versions"), std::string::npos);
  EXPECT_NE(fetch("/version"), version);
  cancel = true;
  thread.join();
  fs::remove_all(root);
}

}  // namespace
}  // namespace l2gcn
