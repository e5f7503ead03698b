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

double Report::SgemmBeside(const Figure& figure) const {
  return figure.ceiling > 0 ? figure.ceiling : ceilings.sgemm_gflops;
}

double Report::CopyBeside(const Figure& figure) const {
  return figure.ceiling > 0 ? figure.ceiling : ceilings.copy_gbps;
}

void Report::Add(const Figure& figure) {
  const auto share = [](double value, double ceiling) {
    return value > 0 && ceiling > 0 ? fmt::format("{:.1f} %", 100 * value / ceiling) : std::string("-");
  };
  const auto rate = [](double value) { return value > 0 ? fmt::format("{:.1f}", value) : std::string("-"); };
  fmt::print("{:<10} {:<34} {:>11.6f} {:>10} {:>7} {:>9} {:>7}  {}\n", figure.group, figure.name,
             figure.seconds, rate(figure.gflops), share(figure.gflops, SgemmBeside(figure)),
             rate(figure.gbps), share(figure.gbps, CopyBeside(figure)), figure.note);
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
      const double sgemm = SgemmBeside(figure);
      entry["sgemm_gflops"] = sgemm;
      if (sgemm > 0) entry["share_of_sgemm"] = figure.gflops / sgemm;
    }
    if (figure.gbps > 0) {
      entry["gbps"] = figure.gbps;
      const double copy = CopyBeside(figure);
      entry["copy_gbps"] = copy;
      if (copy > 0) entry["share_of_copy"] = figure.gbps / copy;
    }
    if (!figure.note.empty()) entry["note"] = figure.note;
    out["figures"].push_back(entry);
  }
  WriteFileWhole(path, out.dump(1) + "\n");
}

}  // namespace l2gcn::bench
