// A fixture that reads a person's own tables from text, and keeps what is reported.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data/fixtures.h"
#include "data/samples.h"

namespace l2gcn {

class OwnTables : public ::testing::Test {
 protected:
  Dataset Open(const std::string& edges, const std::string& nodes = "") {
    options_.edges = folder_.Write("edges.csv", edges).string();
    options_.nodes = nodes.empty() ? "" : folder_.Write("nodes.csv", nodes).string();
    return Reopen();
  }
  Dataset Reopen() {
    notes_.clear();
    Context context = MakeContext(2);
    Listen(context);
    return OpenDataset(context, "", options_);
  }
  void Listen(Context& context) {
    context.on_note = [this](const std::string& note) { notes_ += note + "\n"; };
    context.on_warning = [this](const std::string& text) { notes_ += "warning: " + text + "\n"; };
  }
  std::string Refused(const std::string& edges, const std::string& nodes = "") {
    return ErrorOf(ErrorKind::kInput, [&] { Open(edges, nodes); });
  }
  static std::vector<float> Row(const Dataset& dataset, uint32_t node) {
    const Matrix& dense = dataset.features.matrix();
    return {dense.row(node), dense.row(node) + dense.cols};
  }

  TemporaryFolder folder_;
  OpenOptions options_;
  std::string notes_;
};

}  // namespace l2gcn
