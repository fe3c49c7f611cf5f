// Package fieldstest holds the management of fields to upstream's by random histories of
// writes: [Play] makes as many as the flag -cases says, and reports the outcomes. A
// [History] says what comes next in it: by which manager, when, and with which
// configuration. The test brings the objects, makes each write both ways and compares.
package fieldstest
