// The parts of a report. Each adds its headings, tables and figures to a page.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "l2gcn/report.h"
#include "l2gcn/train.h"
#include "report/html/page.h"

namespace l2gcn {

using ReportJson = nlohmann::ordered_json;

// What result.json says: scores with spread, losses, decisions, seconds and memory.
void AddScoreCards(const ReportJson& result, Page& page);
void AddSeeds(const ReportJson& result, Page& page);
void AddTraining(const ReportJson& result, Page& page);
void AddCosts(const Context& context, const ReportJson& result, const ReportOptions& options, Page& page);
void AddSettings(const ReportJson& result, const std::string& config_json, Page& page);

// What the model does with its data set.
void AddModelParts(const Context& context, const OpenedRun& run, const Dataset& dataset,
                   const ReportOptions& options, Page& page);
void AddDataParts(const Dataset& dataset, const Split& split, Page& page);
void AddMap(const Context& context, const OpenedRun& run, const Dataset& dataset, const Matrix& logits,
            const ReportOptions& options, Page& page);

// What compare --json printed, one or several; and the tables and figures of a reproduction.
void AddComparison(const ReportJson& comparison, Page& page);
void AddReproduction(const ReportJson& reproduction, Page& page);

}  // namespace l2gcn
