#include "l2gcn/serve.h"

#include <arpa/inet.h>
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
#include "train/small_dataset.h"

namespace l2gcn {
namespace {

namespace fs = std::filesystem;

class Client {
 public:
  explicit Client(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
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

// A server with a page, on a thread of its own, for as long as the test lasts.
class ServerTest : public ::testing::Test {
 protected:
  ServerTest() : server_("127.0.0.1", 0), host_("127.0.0.1:" + std::to_string(server_.port())) {
    thread_ = std::thread([this] {
      server_.Run(
          context_,
          [](const HttpRequest& request) {
            return request.path == "/" ? HttpAnswer{200, "text/html", "hello", {}}
                                       : HttpAnswer{404, "text/plain", "no", {}};
          },
          [this] { return stop_.load(); });
    });
  }
  ~ServerTest() override {
    stop_ = true;
    thread_.join();
  }
  std::string StatusOf(const std::string& answer) const { return answer.substr(0, 12); }

  Context context_ = MakeContext(1);
  HttpServer server_;
  const std::string host_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

TEST_F(ServerTest, AnswersItsOwnHostAlone) {
  const uint16_t port = server_.port();
  const std::string good = Get(port, "/?a=b", host_);
  EXPECT_EQ(StatusOf(good), "HTTP/1.1 200");
  EXPECT_NE(good.find("\r\n\r\nhello"), std::string::npos);
  EXPECT_NE(good.find("X-Content-Type-Options: nosniff"), std::string::npos);
  EXPECT_EQ(StatusOf(Get(port, "/", "localhost:" + std::to_string(port))), "HTTP/1.1 200");
  EXPECT_EQ(StatusOf(Get(port, "/other", host_)), "HTTP/1.1 404");
  for (const std::string& other : {std::string("evil.example"), "evil.example:" + std::to_string(port),
                                   std::string("127.0.0.1"), std::string("127.0.0.1:1"), std::string("")}) {
    EXPECT_EQ(StatusOf(Get(port, "/", other)), "HTTP/1.1 403") << other;
  }
  EXPECT_EQ(StatusOf(Get(port, "/", host_, "Origin: http://" + host_ + "\r\n")), "HTTP/1.1 200");
  EXPECT_EQ(StatusOf(Get(port, "/", host_, "Origin: http://evil.example\r\n")), "HTTP/1.1 403");
  EXPECT_EQ(StatusOf(Get(port, "/", host_, "Origin: null\r\n")), "HTTP/1.1 403");
  EXPECT_EQ(StatusOf(Get(port, "/", host_, "Sec-Fetch-Site: cross-site\r\n")), "HTTP/1.1 403");
  EXPECT_EQ(StatusOf(Get(port, "/", host_, "Host: evil.example\r\n")), "HTTP/1.1 400") << "two hosts";
}

TEST_F(ServerTest, RefusesWhatItDoesNotUnderstand) {
  const auto answer = [&](const std::string& request) {
    Client client(server_.port());
    client.Send(request);
    return StatusOf(client.ReadAll());
  };
  EXPECT_EQ(answer("POST / HTTP/1.1\r\nHost: " + host_ + "\r\n\r\n"), "HTTP/1.1 405");
  EXPECT_EQ(answer("nonsense\r\n\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(answer("GET / HTTP/1.1\r\nno colon\r\n\r\n"), "HTTP/1.1 400");
  EXPECT_EQ(answer("GET /" + std::string(20000, 'a')), "HTTP/1.1 413");
}

TEST_F(ServerTest, OneConnectionCarriesSeveralRequests) {
  Client client(server_.port());
  const std::string one = "GET / HTTP/1.1\r\nHost: " + host_ + "\r\n\r\n";
  client.Send(one + one + "HEAD / HTTP/1.1\r\nHost: " + host_ + "\r\nConnection: close\r\n\r\n");
  const std::string all = client.ReadAll();
  size_t answers = 0, bodies = 0;
  for (size_t at = 0; (at = all.find("HTTP/1.1 200", at)) != std::string::npos; ++at) ++answers;
  for (size_t at = 0; (at = all.find("hello", at)) != std::string::npos; ++at) ++bodies;
  EXPECT_EQ(answers, 3u);
  EXPECT_EQ(bodies, 2u);
}

// More clients than the server keeps, each with half a request: the next one is still answered.
TEST_F(ServerTest, SlowClientsHoldUpNobody) {
  std::vector<std::unique_ptr<Client>> slow;
  for (int i = 0; i < 300; ++i) {
    slow.push_back(std::make_unique<Client>(server_.port()));
    slow.back()->Send("GET / HT");
  }
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(StatusOf(Get(server_.port(), "/", host_)), "HTTP/1.1 200");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3));
}

TEST(HttpServer, SaysWhyItCannotListen) {
  const HttpServer first("127.0.0.1", 0);
  EXPECT_THROW(HttpServer("127.0.0.1", first.port()), Error);
  EXPECT_THROW(HttpServer("localhost", 0), Error);
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
  EXPECT_NE(fetch("/").find("progress.jsonl is damaged"), std::string::npos);
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
