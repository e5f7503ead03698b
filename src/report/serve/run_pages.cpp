#include "report/serve/run_pages.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "core/error_format.h"
#include "core/files.h"
#include "report/html/page.h"

namespace l2gcn {
namespace fs = std::filesystem;
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(500);
constexpr auto kFirstPageTime = std::chrono::seconds(1);
constexpr uint64_t kMostProgressBytes = uint64_t{64} << 20;

// Size and time of a file; "" where there is none.
std::string StampOf(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return "";
  return fmt::format("{}.{:09}-{}", status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_size);
}

// The last bytes of a file that another process may cut short meanwhile, which a mapped file would not survive.
std::string ReadEnd(const fs::path& path) {
  const Descriptor file = OpenRegularFile(path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return "";
  const auto size = static_cast<uint64_t>(status.st_size);
  std::string text(std::min(size, kMostProgressBytes), '\0');
  size_t have = 0;
  while (have < text.size()) {
    const ssize_t count = ::pread(file.get(), text.data() + have, text.size() - have,
                                  static_cast<off_t>(size - text.size() + have));
    if (count <= 0) break;
    have += static_cast<size_t>(count);
  }
  text.resize(have);
  return text;
}

std::shared_ptr<const std::string> MessagePage(const std::string& run, const std::string& message,
                                               const std::string& version) {
  Page page(run);
  page.Heading(run, message);
  return std::make_shared<const std::string>(page.Finish("", version));
}

}  // namespace

RunPages::RunPages(const Context& context, const std::string& run, const ReportOptions& options)
    : context_(context),
      run_(run),
      options_(options),
      result_(fs::path(run) / "result.json"),
      progress_(fs::path(run + ".unfinished") / "progress.jsonl") {
  if (!fs::exists(result_) && !fs::is_directory(run + ".unfinished")) {
    ThrowInput(
        "{}: no run, and none in the making; expected the directory that l2gcn train writes or is about to "
        "write",
        run);
  }
  shown_ = {200, MessagePage(run_, "The report is being built; this page follows.", "building"), "building"};
  Poll();
  building_.wait_for(kFirstPageTime);
}

HttpResponse RunPages::Answer(const HttpRequest& request) {
  if (request.method != "GET" && request.method != "HEAD") {
    HttpResponse refusal = TextResponse(405, "only GET and HEAD\n");
    refusal.headers = {{"Allow", "GET, HEAD"}};
    return refusal;
  }
  if (request.path == "/favicon.ico") return {.status = 204, .type = ""};
  if (request.path != "/" && request.path != "/version")
    return TextResponse(404, "there is nothing here; see /\n");
  Poll();
  if (request.path == "/version") return TextResponse(200, shown_.version);
  static const std::string policy = ContentSecurityPolicy(true) + "; frame-ancestors 'none'";
  return {.status = shown_.status,
          .type = "text/html; charset=utf-8",
          .body = shown_.page,
          .headers = {{"Content-Security-Policy", policy}}};
}

void RunPages::Poll() {
  if (building_.valid()) {
    if (building_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
    shown_ = building_.get();
  }
  const auto now = std::chrono::steady_clock::now();
  if (!built_.empty() && now - polled_ < kPollInterval) return;
  polled_ = now;
  const std::string result = StampOf(result_), progress = result.empty() ? StampOf(progress_) : "";
  const std::string version = !result.empty() ? result : !progress.empty() ? progress : "starting";
  if (version == built_) return;
  built_ = version;
  building_ = std::async(std::launch::async,
                         [this, finished = !result.empty(), version] { return Build(finished, version); });
}

// Whatever the run's files hold, the server goes on: what cannot be shown becomes a page that says why.
RunPages::Built RunPages::Build(bool finished, const std::string& version) const {
  try {
    if (finished) {
      Context context = MakeContext(context_.threads);
      context.cancel = context_.cancel;
      return {200, std::make_shared<const std::string>(MakeReport(context, {run_}, options_)), version};
    }
    const std::string progress = fs::exists(progress_) ? ReadEnd(progress_) : "";
    return {200, std::make_shared<const std::string>(LivePage(run_, progress, version)), version};
  } catch (const std::exception& error) {
    return {500, MessagePage(run_, fmt::format("This page could not be built: {}", error.what()), version),
            version};
  }
}

}  // namespace l2gcn
