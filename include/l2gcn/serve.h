// The report of a run over HTTP, live while the run goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "l2gcn/report.h"

namespace l2gcn {

struct ServeOptions {
  std::string address = "127.0.0.1";  // an address of this machine; others than loopback must be asked for
  uint16_t port = 0;                  // 0: any free one
  // Host names under which browsers may ask for the page, besides IP addresses and localhost.
  std::vector<std::string> hosts;
  ReportOptions report;
  // Told once the page can be fetched.
  std::function<void(const std::string& url)> on_ready;
};

// Serves `run`, which may still be in the making, until the context is cancelled. Requests for another host
// name, or from a page of another site, are refused. A page that cannot be built is answered with status 500 and
// the reason. Throws Error(kInput) if there is neither a run nor one in the making, Error(kUsage) if the address
// or port cannot be used or libmicrohttpd is not installed.
void ServeRun(const Context& context, const std::string& run, const ServeOptions& options);

}  // namespace l2gcn
