// Event files that TensorBoard reads, written while a training goes on.
//
//   DIR/                 (several seeds: DIR/seed-S/)
//     events.out.tfevents.…    scalars layerL/loss, layerL/stop_probability, layerL/validation_f1 by epoch,
//                              epochs by layer, f1/train, f1/val, f1/test; histograms of the weights
//     projector_config.pbtxt, embeddings.tsv, metadata.tsv    the last layer's embeddings of a sample of
//     nodes
#pragma once

#include <cstdint>
#include <string>

#include "l2gcn/train.h"

namespace l2gcn {

// Makes RunTraining(context, dataset, …, run) write to `directory`, by its callbacks context.on_progress, which still gets
// what it got before, and run.on_seed. The data set and the context must outlive the run's options. Throws Error(kUsage)
// if the folder cannot be made.
void LogToTensorBoard(const std::string& directory, uint64_t first_seed, const Dataset& dataset,
                      Context& context, RunOptions& run);

}  // namespace l2gcn
