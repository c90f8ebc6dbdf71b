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

/* Numbers with two digits at least, unless bare; -1: the letter is none of these. */
static int date_number(char letter, const struct civil *c) {
    switch (letter) {
    case 'y':
        return (int)(c->year % 100);
    case 'm':
        return c->month;
    case 'd':
        return c->day;
    case 'H':
        return c->hour;
    case 'I':
        return c->hour % 12 ? c->hour % 12 : 12;
    case 'M':
        return c->minute;
    case 'S':
        return c->second;
    default:
        return -1;
    }
}

/* Everything else that is short; false: not known. */
static bool date_text(char letter, bool bare, const struct civil *c, char t[40]) {
    switch (letter) {
    case 'Y':
        return snprintf(t, 40, "%lld", (long long)c->year) > 0;
    case 'e':
        return snprintf(t, 40, bare ? "%d" : "%2d", c->day) > 0;
    case 'j':
        return snprintf(t, 40, bare ? "%d" : "%03d", c->yearday + 1) > 0;
    case 'w':
        return snprintf(t, 40, "%d", c->weekday) > 0;
    case 'u':
        return snprintf(t, 40, "%d", c->weekday ? c->weekday : 7) > 0;
    case 'p':
        return snprintf(t, 40, "%s", c->hour < 12 ? "AM" : "PM") > 0;
    case 'a':
    case 'A':
        snprintf(t, letter == 'a' ? 4 : 40, "%s", day_names[c->weekday]);
        return true;
    case 'b':
    case 'h':
    case 'B':
        snprintf(t, letter == 'B' ? 40 : 4, "%s", month_names[c->month - 1]);
        return true;
    case 'f':
        return snprintf(t, 40, "000000") > 0;
    case 'n':
    case 't':
    case '%':
        t[0] = letter == 'n' ? '\n' : letter == 't' ? '\t' : '%';
        t[1] = 0;
        return true;
    case 'z':
    case 'Z':
        t[0] = 0; /* a time without a zone has none */
        return true;
    default:
        return false;
    }
}

static void put_date(struct jmem *m, struct jbuf *b, char letter, bool bare,
                     const struct civil *c) {
    static const char *const joint[][2] = {
        {"F", "Y-m-d"}, {"T", "H:M:S"}, {"R", "H:M"}, {"D", "m/d/y"}};
    char t[40];
    for (size_t i = 0; i < COUNT(joint); i++) {
        if (letter != joint[i][0][0]) continue;
        for (const char *p = joint[i][1]; *p; p++) {
            if (strchr("-:/", *p))
                jbuf_put(m, b, p, 1, true);
            else
                put_date(m, b, *p, false, c);
        }
        return;
    }
    int number = date_number(letter, c);
    if (number >= 0)
        snprintf(t, sizeof t, bare ? "%d" : "%02d", number);
    else if (!date_text(letter, bare, c, t)) {
        jmem_fail(m, GLIM_ARG, "strftime_now: %%%c is not supported", letter);
        return;
    }
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
        put_date(m, &b, format.p[i], bare, &c);
    }
    return jbuf_done(m, &b);
}
