package definition

import (
	"regexp"
	"strconv"
)

// What names may be made of. Job names and output types become names of folders and parts of selectors.
var (
	identifier  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`)
	jobName     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)
	projectName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	dottedName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*`)
	settingKey  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./:+-]{0,62}$`)
	settingName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,62}$`)
)

func formatInt(n int32) string { return strconv.FormatInt(int64(n), 10) }
