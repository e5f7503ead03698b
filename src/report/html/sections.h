// The parts of a report. Each adds its headings, tables and figures to a page.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "l2gcn/report.h"
#include "l2gcn/train.h"
#include "report/html/page.h"

namespace l2gcn {

// A chart over the epochs of each layer, beside another one; without series.
Chart EpochChart(const char* title, const char* y_label);

using ReportJson = nlohmann::ordered_json;

// What result.json says: scores with their deviation, losses, decisions, seconds and memory. `run` is the entry of
// result["runs"] whose seed is shown.
bool IsRegression(const ReportJson& result);
// "84.20 ± 0.31 %", or R² "0.8420 ± 0.0031"
std::string ScoreText(const ReportJson& result, const char* part);
std::string EpochsText(const ReportJson& epochs);  // "40 + 120"
double TrainingSeconds(const ReportJson& record);  // of a result or of one of its runs
void AddScoreCards(const ReportJson& result, Page& page);
void AddSeeds(const ReportJson& result, uint64_t shown, const std::string& directory, Page& page);
void AddTraining(const ReportJson& run, Page& page);
void AddCosts(const Context& context, const ReportJson& result, const ReportJson& run,
              const ReportOptions& options, Page& page);
void AddSettings(const ReportJson& result, const std::string& config_json, Page& page);

// A run directory and its record.
struct RunRecord {
  std::string directory;
  ReportJson result;
  std::string finished;  // when result.json was written, as text
};
// Several runs as one table whose rows link to the parts run-1, run-2, …
void AddRuns(const std::vector<RunRecord>& runs, Page& page);

// What the model does with its data set; `notes` are what opening it told.
void AddModelParts(const Context& context, const OpenedRun& run, const Dataset& dataset,
                   const std::vector<std::string>& notes, const ReportOptions& options, Page& page);
void AddDataParts(const Dataset& dataset, const Split& split, const std::vector<std::string>& notes,
                  Page& page);
void AddMap(const Context& context, const OpenedRun& run, const Dataset& dataset, const Matrix& logits,
            const ReportOptions& options, Page& page);

// The same for a regression: figures of each part, and the residuals of the nodes of one part.
void AddRegressionScores(const std::vector<std::pair<std::string, Score>>& scores, Page& page);
void AddResiduals(const Dataset& dataset, const Matrix& predicted, std::span<const uint32_t> nodes,
                  const std::string& part, Page& page);

// What compare --json printed, one or several; and the tables and figures of a reproduction.
void AddComparison(const ReportJson& comparison, Page& page);
void AddReproduction(const ReportJson& reproduction, Page& page);

}  // namespace l2gcn
