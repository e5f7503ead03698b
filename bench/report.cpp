#include "report.h"

#include <fmt/format.h>

#include "core/files.h"

namespace l2gcn::bench {

void Report::PrintCeilings() const {
  fmt::print("ceilings: sgemm 4096^3 {:.1f} GFLOP/s ({}), copy {:.1f} GB/s\n", ceilings.sgemm_gflops,
             ceilings.sgemm_kernel.empty() ? "no OpenBLAS found" : "OpenBLAS " + ceilings.sgemm_kernel,
             ceilings.copy_gbps);
  fmt::print("{:<10} {:<34} {:>11} {:>10} {:>7} {:>9} {:>7}  {}\n", "group", "name", "seconds", "GFLOP/s",
             "share", "GB/s", "share", "note");
}

void Report::Add(const Figure& figure) {
  const auto share = [](double value, double ceiling) {
    return value > 0 && ceiling > 0 ? fmt::format("{:.1f} %", 100 * value / ceiling) : std::string("-");
  };
  const double sgemm = figure.sgemm_gflops > 0 ? figure.sgemm_gflops : ceilings.sgemm_gflops;
  const auto rate = [](double value) { return value > 0 ? fmt::format("{:.1f}", value) : std::string("-"); };
  fmt::print("{:<10} {:<34} {:>11.6f} {:>10} {:>7} {:>9} {:>7}  {}\n", figure.group, figure.name,
             figure.seconds, rate(figure.gflops), share(figure.gflops, sgemm), rate(figure.gbps),
             share(figure.gbps, ceilings.copy_gbps), figure.note);
  std::fflush(stdout);
  figures_.push_back(figure);
}

void Report::WriteJson(const std::string& path) const {
  nlohmann::json out = extra;
  out["ceilings"] = {{"sgemm_gflops", ceilings.sgemm_gflops},
                     {"sgemm_kernel", ceilings.sgemm_kernel},
                     {"copy_gbps", ceilings.copy_gbps}};
  out["figures"] = nlohmann::json::array();
  for (const Figure& figure : figures_) {
    nlohmann::json entry = {{"group", figure.group}, {"name", figure.name}, {"seconds", figure.seconds}};
    if (figure.gflops > 0) {
      entry["gflops"] = figure.gflops;
      const double sgemm = figure.sgemm_gflops > 0 ? figure.sgemm_gflops : ceilings.sgemm_gflops;
      entry["sgemm_gflops"] = sgemm;
      if (sgemm > 0) entry["share_of_sgemm"] = figure.gflops / sgemm;
    }
    if (figure.gbps > 0) {
      entry["gbps"] = figure.gbps;
      if (ceilings.copy_gbps > 0) entry["share_of_copy"] = figure.gbps / ceilings.copy_gbps;
    }
    if (!figure.note.empty()) entry["note"] = figure.note;
    out["figures"].push_back(entry);
  }
  WriteFileWhole(path, out.dump(1) + "\n");
}

}  // namespace l2gcn::bench
