# SPDX-License-Identifier: MIT
# cmake -DNPM= -DFROM=folder with package.json and its lock -DTO=folder -P install_modules.cmake
#
# Installs exactly what the lock file says. What is there already for the same lock file stays, so
# that only the first run needs the network.
file(SHA256 ${FROM}/package-lock.json wanted)
if(EXISTS ${TO}/installed)
  file(READ ${TO}/installed have)
endif()
if("${have}" STREQUAL "${wanted}")
  message("up to date")
  return()
endif()
if(NOT NPM)
  message(FATAL_ERROR "npm was not found: install it (Debian: apt-get install nodejs npm) and run cmake again")
endif()
file(REMOVE_RECURSE ${TO})
file(COPY ${FROM}/package.json ${FROM}/package-lock.json DESTINATION ${TO})
execute_process(COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund
                WORKING_DIRECTORY ${TO} RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "npm ci failed in ${TO} (${failed})")
endif()
file(WRITE ${TO}/installed ${wanted})
