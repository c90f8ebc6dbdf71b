/* The WebGPU library, and what it finds. */
#ifndef TOOL_DEVICES_H
#define TOOL_DEVICES_H

/* The library's path: $GLIM_WEBGPU, or beside the program as ./dev and `make install` put it. NULL:
 * neither; the system may know one. Stays valid. */
const char *devices_library(void);

#endif
