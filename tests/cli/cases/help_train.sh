hocket train --help
