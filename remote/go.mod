module github.com/fakecluster/fakecluster/remote

go 1.22
