// Package javascript has a client of fakecluster host in JavaScript, fakecluster.js, and tests that use it with @kubernetes/client-node,
// crontabs.test.js.
package javascript
