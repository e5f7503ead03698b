// Training one seed of a job: the stopping rule, the trainer of the method, restarts and resuming.
#pragma once

#include <memory>

#include "l2gcn/stop_policy.h"
#include "l2gcn/train.h"
#include "run/job.h"
#include "train/snapshot.h"
#include "train/training_set.h"

namespace l2gcn {

class Checkpoint;

// The policy that the configuration names, or its method's own.
std::unique_ptr<StopPolicy> MakeStopPolicy(const Job& job);

// Trains with the trainer of the job's method. If checkpointer is not null the training goes on from its snapshot and keeps more
// of them; ngcn-layerwise alone begins anew.
TrainedSeed FitMethod(const Job& job, StopPolicy& policy, Checkpointer* checkpointer = nullptr);

// Trains the job's seed, or takes what an earlier process trained. A training that diverges begins again at a lower rate
// where the settings say so. Of ranks that share the work only rank 0 has a checkpoint; without one nothing is kept.
TrainedSeed TrainSeed(const Job& job, const RunOptions& options, Checkpoint* checkpoint);

}  // namespace l2gcn
