package main

import (
	"fmt"
	"io"
	"os"

	"github.com/fakecluster/fakecluster/fakecluster"
)

// Environment variables for a report about a cluster when it ends.
const (
	reportFolder   = "FAKECLUSTER_REPORT"   // the folder to which the page is written
	printsFindings = "FAKECLUSTER_FINDINGS" // not empty: the findings are printed
)

// reportEnd writes the page of a cluster and prints its findings, if environment variables ask for them.
func reportEnd(c *fakecluster.Cluster, title string, stderr io.Writer) {
	if os.Getenv(printsFindings) != "" {
		if found := c.Findings(); found.Summary != "" {
			fmt.Fprintln(stderr, "fakecluster: "+found.String())
		}
	}
	folder := os.Getenv(reportFolder)
	if folder == "" {
		return
	}
	path, err := c.WriteReport(folder, title)
	if err != nil {
		fmt.Fprintf(stderr, "fakecluster: %s=%s: the page cannot be written: %v\n", reportFolder, folder, err)
		return
	}
	fmt.Fprintf(stderr, "fakecluster: the report is in %s\n", path)
}
