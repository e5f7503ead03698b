// The writer behind l2gcn/tensorboard.h.
#pragma once

#include <memory>

#include "l2gcn/tensorboard.h"

namespace l2gcn {

class TensorBoardLog {
 public:
  // Makes the folder; throws Error(kUsage) if it cannot be written.
  TensorBoardLog(const std::string& directory, uint64_t first_seed, uint32_t runs);
  ~TensorBoardLog();
  TensorBoardLog(const TensorBoardLog&) = delete;
  TensorBoardLog& operator=(const TensorBoardLog&) = delete;

  // What is new since the last call; to be called from Context::on_progress.
  void OnProgress(const Progress& progress);
  // A seed is trained and evaluated: what is still missing, and the model. The next seed begins.
  void OnSeed(const Context& context, const Dataset& dataset, const Trained& trained);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace l2gcn
