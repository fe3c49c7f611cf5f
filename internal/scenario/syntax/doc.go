// Package syntax parses scenario files, which are YAML with marks and CEL, into Scenarios. It reports every mistake that
// can be found without a cluster. The manual of the language is the package comment of scenarios.
//
// The tables of verbs, of the fields beside a verb, and of the fields of each mapping are the language: the parser and
// the JSON schema read them, and tests compare the manual and the actions of package player with them. A Scenario is
// immutable. The parser continues after a mistake, so that Load reports all of them, each with its file, line and
// column. Parsing any file takes bounded time and memory (maxNodes, maxIterations).
package syntax
