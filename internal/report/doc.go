// Package report makes an HTML page of what has happened in a cluster: a timeline of the requests by
// client, the objects with their revisions and what each changed, what the webhooks said, and the
// findings. The page is one file with everything in it, and needs no server and no network.
//
// [Of] collects the data, [Write] puts them into a page, and [Live] serves the page and brings it up to
// date while the cluster runs. The values of Secrets are left out.
package report
