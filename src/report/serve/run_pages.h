// The pages of `l2gcn serve`: while a run is being trained, its losses so far; when it is finished, its
// report. Pages are built on a thread of their own, so that requests are answered meanwhile from the last one.
#pragma once

#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <string_view>

#include "l2gcn/report.h"
#include "report/serve/http_message.h"

namespace l2gcn {

// The page of a run that is being trained. `progress` is the content of its progress.jsonl; its lines that are no
// JSON are skipped. Throws Error(kInput) where a line is not as l2gcn writes it.
std::string LivePage(const std::string& run, std::string_view progress, const std::string& version);

class RunPages {
 public:
  // Throws Error(kInput) if there is neither a run nor one being trained.
  RunPages(const Context& context, const std::string& run, const ReportOptions& options);

  // GET / is the page, with status 500 and the reason if it could not be built; GET /version is a text that
  // changes when the page does.
  HttpResponse Answer(const HttpRequest& request);

 private:
  struct Built {
    int status = 200;
    std::shared_ptr<const std::string> page;
    std::string version;
  };

  // Notices what has changed, at most twice a second.
  void Poll();
  Built Build(bool finished, const std::string& version) const;

  const Context& context_;
  const std::string run_;
  const ReportOptions options_;
  const std::filesystem::path result_, progress_;
  Built shown_;
  std::string built_;  // the version being built or shown
  std::chrono::steady_clock::time_point polled_;
  std::future<Built> building_;
};

}  // namespace l2gcn
