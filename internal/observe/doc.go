// Package observe takes down the explanation of one write while the write goes through its
// stages.
//
// A Recorder belongs to one request whose client has asked for an explanation. It travels with the
// request: in write.Request to the pipeline, and in admission.Write to admission. Any other request
// has none, and what a stage does then is to look whether a pointer is nil. Whatever takes longer,
// such as comparing an object with what it was before, is only done if there is one, and never
// changes the outcome of the write.
//
// The types of an explanation are in package inspect, which users see.
package observe
