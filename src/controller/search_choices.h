// The words of a search's settings that are one of a few (l2gcn/controller.h).
#pragma once

#include "config/choice_names.h"
#include "l2gcn/controller.h"

namespace l2gcn {

inline constexpr ChoiceName<SearchConfig::Kind> kControllerKindNames[] = {
    {SearchConfig::Kind::kGeneral, "general"}, {SearchConfig::Kind::kPaper, "paper"}};
inline constexpr ChoiceName<SearchConfig::Sees> kControllerSeesNames[] = {
    {SearchConfig::Sees::kValidation, "validation"}, {SearchConfig::Sees::kLoss, "loss"}};
inline constexpr ChoiceName<SearchConfig::Reward> kSearchRewardNames[] = {
    {SearchConfig::Reward::kLoss, "loss"}, {SearchConfig::Reward::kF1, "f1"}};
inline constexpr ChoiceName<SearchConfig::EvaluationSplit> kEvaluationSplitNames[] = {
    {SearchConfig::EvaluationSplit::kValidation, "val"}, {SearchConfig::EvaluationSplit::kTest, "test"}};
inline constexpr ChoiceName<SearchConfig::Cost> kSearchCostNames[] = {
    {SearchConfig::Cost::kEpochs, "epochs"}, {SearchConfig::Cost::kSeconds, "seconds"}};
inline constexpr ChoiceName<SearchConfig::Batch::Kind> kRolloutBatchNames[] = {
    {SearchConfig::Batch::Kind::kFull, "full"}, {SearchConfig::Batch::Kind::kPreset, "preset"}};

}  // namespace l2gcn
