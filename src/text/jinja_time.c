/* Dates as Python's strftime writes them in the C locale. */
#include <stdio.h>
#include <string.h>

#include "text/jinja_call.h"

struct civil {
    i64 year;
    int month, day, weekday, yearday; /* from 1, from 1, Sunday 0, from 0 */
    int hour, minute, second;
};

/* Days to a date by Howard Hinnant's "days from civil" algorithms: eras of 400 years that begin on
 * the first of March. */
static struct civil civil_of(i64 seconds) {
    i64 days = seconds / 86400, rest = seconds % 86400;
    if (rest < 0) {
        rest += 86400;
        days--;
    }
    i64 z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097, doe = z - era * 146097;
    i64 yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    i64 doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    struct civil c = {.day = (int)(doy - (153 * mp + 2) / 5 + 1),
                      .month = (int)(mp < 10 ? mp + 3 : mp - 9)};
    c.year = yoe + era * 400 + (c.month <= 2);
    c.weekday = (int)(((days + 4) % 7 + 7) % 7);
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    bool leap = c.year % 4 == 0 && (c.year % 100 != 0 || c.year % 400 == 0);
    c.yearday = before[c.month - 1] + c.day - 1 + (leap && c.month > 2);
    c.hour = (int)(rest / 3600);
    c.minute = (int)(rest / 60 % 60);
    c.second = (int)(rest % 60);
    return c;
}

static const char *const day_names[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                        "Thursday", "Friday", "Saturday"};
static const char *const month_names[] = {"January",   "February", "March",    "April",
                                          "May",       "June",     "July",     "August",
                                          "September", "October",  "November", "December"};

static void put_date(struct jmem *m, struct jbuf *b, char letter, bool bare, const struct civil *c,
                     i64 seconds) {
    char t[40] = "";
    int hour12 = c->hour % 12 ? c->hour % 12 : 12;
    const char *two = bare ? "%d" : "%02d";
    int number = -1;
    switch (letter) {
    case 'Y':
        snprintf(t, sizeof t, "%lld", (long long)c->year);
        break;
    case 'y':
        number = (int)(c->year % 100);
        break;
    case 'm':
        number = c->month;
        break;
    case 'd':
        number = c->day;
        break;
    case 'e':
        snprintf(t, sizeof t, bare ? "%d" : "%2d", c->day);
        break;
    case 'H':
        number = c->hour;
        break;
    case 'I':
        number = hour12;
        break;
    case 'M':
        number = c->minute;
        break;
    case 'S':
        number = c->second;
        break;
    case 'j':
        snprintf(t, sizeof t, bare ? "%d" : "%03d", c->yearday + 1);
        break;
    case 'w':
        snprintf(t, sizeof t, "%d", c->weekday);
        break;
    case 'u':
        snprintf(t, sizeof t, "%d", c->weekday ? c->weekday : 7);
        break;
    case 'p':
        snprintf(t, sizeof t, "%s", c->hour < 12 ? "AM" : "PM");
        break;
    case 'A':
    case 'a':
        snprintf(t, letter == 'a' ? 4 : sizeof t, "%s", day_names[c->weekday]);
        break;
    case 'B':
    case 'b':
    case 'h':
        snprintf(t, letter == 'B' ? sizeof t : 4, "%s", month_names[c->month - 1]);
        break;
    case 'F':
        snprintf(t, sizeof t, "%lld-%02d-%02d", (long long)c->year, c->month, c->day);
        break;
    case 'T':
        snprintf(t, sizeof t, "%02d:%02d:%02d", c->hour, c->minute, c->second);
        break;
    case 'R':
        snprintf(t, sizeof t, "%02d:%02d", c->hour, c->minute);
        break;
    case 'D':
        snprintf(t, sizeof t, "%02d/%02d/%02d", c->month, c->day, (int)(c->year % 100));
        break;
    case 's':
        snprintf(t, sizeof t, "%lld", (long long)seconds);
        break;
    case 'z':
    case 'Z':
        break; /* local time without a zone has none */
    case 'f':
        snprintf(t, sizeof t, "000000");
        break;
    case 'n':
        snprintf(t, sizeof t, "\n");
        break;
    case 't':
        snprintf(t, sizeof t, "\t");
        break;
    case '%':
        snprintf(t, sizeof t, "%%");
        break;
    default:
        jmem_fail(m, GLIM_ARG, "strftime_now: %%%c is not supported", letter);
    }
    if (number >= 0) snprintf(t, sizeof t, *two == '%' && bare ? "%d" : "%02d", number);
    jbuf_puts(m, b, t, true);
}

struct jval jinja_strftime(struct jmem *m, struct str format, i64 seconds) {
    struct jbuf b = {0};
    struct civil c = civil_of(seconds);
    for (size_t i = 0; i < format.n && !m->rc; i++) {
        if (format.p[i] != '%' || i + 1 == format.n) {
            jbuf_put(m, &b, format.p + i, 1, true);
            continue;
        }
        bool bare = format.p[++i] == '-' && i + 1 < format.n;
        if (bare) i++;
        put_date(m, &b, format.p[i], bare, &c, seconds);
    }
    return jbuf_done(m, &b);
}
