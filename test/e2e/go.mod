module github.com/sluiceci/sluice/test/e2e

go 1.26.0
