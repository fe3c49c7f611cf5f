// Package report writes an HTML page about a cluster: a timeline of the requests by client, the objects with their
// revisions and changes, the results of webhooks, and the findings. The page is one file and needs no server and no
// network.
//
// [New] collects the data, [Write] writes the page, and [Live] serves it and updates it while the cluster runs. Values
// of Secrets are left out.
package report
