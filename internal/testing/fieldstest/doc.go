// Package fieldstest makes random histories of writes, for tests that compare field
// management with upstream's. [Play] plays as many writes as the flag -cases demands, and
// reports the outcomes. A [History] decides what comes next: which manager writes, when,
// and with which configuration. The test makes the objects, carries out each write both
// ways and compares the results.
package fieldstest
