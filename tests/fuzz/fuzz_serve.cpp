// What `l2gcn serve` does with bytes of others. Before the first empty line stands a request as libmicrohttpd hands it
// over: method, path and headers, a line each. After it comes the progress.jsonl of the run that is served.
#include <cstdlib>
#include <sstream>

#include "fuzz/fuzz_common.h"
#include "l2gcn/context.h"
#include "report/serve/run_pages.h"

namespace {

l2gcn::HttpRequest RequestIn(const std::string& text) {
  l2gcn::HttpRequest request;
  std::istringstream lines(text);
  std::getline(lines, request.method);
  std::getline(lines, request.path);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) request.headers.emplace(line.substr(0, colon), line.substr(colon + 2));
  }
  return request;
}

l2gcn::RunPages& PreparedPages() {
  static const l2gcn::Context context = l2gcn::MakeContext(1);
  static l2gcn::RunPages pages = [] {
    const std::filesystem::path run = l2gcn::AsFile(nullptr, 0, "mark").parent_path() / "run";
    std::filesystem::create_directories(run.string() + ".unfinished");
    return l2gcn::RunPages(context, run.string(), {});
  }();
  return pages;
}

void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace l2gcn;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(text.find("\n\n"), size);
  const HttpRequest request = RequestIn(text.substr(0, end));
  const auto refusal = RefusedRequest(request, {"lab.example"});
  const int status = refusal ? refusal->status : PreparedPages().Answer(request).status;
  if (refusal) {
    Require(status == 400 || status == 403);
  } else {
    Require(request.headers.count("host") == 1);
    Require(status == 200 || status == 204 || status == 404 || status == 405);
  }
  OnlyErrors([&] {
    // Nothing in the file becomes an element of the page: it has its own script and no other.
    const std::string page =
        LivePage("run", std::string_view(text).substr(std::min(end + 2, size)), "version");
    Require(page.find("<script") == page.rfind("<script"));
  });
  return 0;
}
